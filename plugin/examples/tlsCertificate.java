import com.pulumi.Pulumi;
import io.github.exampleowner.tlsedge.TLSCertificate;
import io.github.exampleowner.tlsedge.TLSCertificateArgs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

public class App {
    public static void main(String[] args) throws IOException {
        var chain = Files.readString(Path.of("app.pem"));
        Pulumi.run(context -> {
            var certificate = new TLSCertificate("app", TLSCertificateArgs.builder()
                .certificatePem(chain)
                .privateKeyPem(context.config().requireSecret("appKey"))
                .renewBeforeDays(21)
                .build());

            context.export("expires", certificate.notAfter());
        });
    }
}
