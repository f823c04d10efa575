// A language host that knows no `typescript: false` makes every program load the compiler: that
// would weigh on all contestants alike, and hide what they cost.
delete process.env.PULUMI_NODEJS_TYPESCRIPT;
