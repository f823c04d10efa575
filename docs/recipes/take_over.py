import pulumi

# The names that the resources had before, by the last part of their type.
before = {"TLSCertificate": "cert", "TLSEdge": "edge"}


# Makes old resources the parts of a site:
# tlsedge.TLSSite("app", …, opts=pulumi.ResourceOptions(transforms=[move]))
def move(args):
    name = before.get(args.type_.split(":")[-1])
    if name:
        alias = pulumi.Alias(name=name, parent=pulumi.ROOT_STACK_RESOURCE)
        opts = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(aliases=[alias]))
        return pulumi.ResourceTransformResult(args.props, opts)
