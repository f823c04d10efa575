import com.pulumi.Pulumi;
import io.github.exampleowner.tlsedge.TLSSite;
import io.github.exampleowner.tlsedge.TLSSiteArgs;
import io.github.exampleowner.tlsedge.inputs.TLSSiteAccessArgs;

public class App {
    public static void main(String[] args) {
        Pulumi.run(context -> {
            var site = new TLSSite("app", TLSSiteArgs.builder()
                .hostports("app.example.com:443")
                .chainFile("app/fullchain.pem")
                .keyFile("app/privkey.pem")
                .backendId(context.config().require("backendId"))
                .access(TLSSiteAccessArgs.builder().ipPolicyIds("ipp_1").build())
                .owner("web")
                .build());

            context.export("edgeId", site.edgeId());
            context.export("expires", site.expires());
        });
    }
}
