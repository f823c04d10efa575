import unittest

import pulumi


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs

    def call(self, args):
        return {"id": "tn_1", "forwardsTo": f"{args.token} {args.args['labels']['app']}"}


pulumi.runtime.set_mocks(Mocks())
import stack  # after set_mocks


class TestStack(unittest.TestCase):
    @pulumi.runtime.test
    def test_serves_the_app(self):
        wanted = [["app.example.com:443"], "tlsedge:index:getTunnel web"]
        found = pulumi.Output.all(stack.edge.hostports, stack.forwards_to)
        return found.apply(lambda values: self.assertEqual(values, wanted))
