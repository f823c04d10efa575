import com.pulumi.Pulumi;
import com.pulumi.tlsedge.TLSEdge;
import com.pulumi.tlsedge.TLSEdgeArgs;
import com.pulumi.tlsedge.inputs.BackendArgs;
import com.pulumi.tlsedge.inputs.IpRestrictionArgs;
import com.pulumi.tlsedge.inputs.TlsTerminationArgs;

public class App {
    public static void main(String[] args) {
        Pulumi.run(context -> {
            var edge = new TLSEdge("app", TLSEdgeArgs.builder()
                .hostports("app.example.com:443")
                .backend(BackendArgs.builder().backendId("bkdtg_1").build())
                .ipRestriction(IpRestrictionArgs.builder().ipPolicyIds("ipp_1").build())
                .tlsTermination(TlsTerminationArgs.builder()
                    .terminateAt("edge")
                    .minVersion("1.2")
                    .build())
                .build());

            context.export("edgeId", edge.id());
        });
    }
}
