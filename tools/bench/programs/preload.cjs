// Loaded first in each Node.js process of a contestant. A language host that does not know
// `typescript: false` makes every program load the compiler: that would cost all contestants the same,
// and hide what they cost.
delete process.env.PULUMI_NODEJS_TYPESCRIPT;
