import com.pulumi.Pulumi;
import io.github.exampleowner.tlsedge.TLSEdge;
import io.github.exampleowner.tlsedge.TLSEdgeArgs;
import io.github.exampleowner.tlsedge.inputs.BackendArgs;
import io.github.exampleowner.tlsedge.inputs.IPRestrictionArgs;
import io.github.exampleowner.tlsedge.inputs.TLSTerminationArgs;

public class App {
    public static void main(String[] args) {
        Pulumi.run(context -> {
            var edge = new TLSEdge("app", TLSEdgeArgs.builder()
                .hostports("app.example.com:443")
                .backend(BackendArgs.builder().backendId("bkdtg_1").build())
                .ipRestriction(IPRestrictionArgs.builder().ipPolicyIds("ipp_1").build())
                .tlsTermination(TLSTerminationArgs.builder()
                    .terminateAt("edge")
                    .minVersion("1.2")
                    .build())
                .build());

            context.export("edgeId", edge.id());
        });
    }
}
