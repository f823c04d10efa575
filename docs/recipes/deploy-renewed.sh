#!/bin/sh
# Deploys the renewed certificate of a stack, and nothing else.
#
#   ./deploy-renewed.sh STACK NAME [options of `pulumi up`]
#
# NAME is that of the TLSCertificate in the program. Does nothing while the deployed certificate is valid
# for 30 more days, unless FORCE is the name of the stack: then it deploys another one, or fails. It takes
# the certificate from the config of the commit that is checked out, which is main's newest, and the
# program from the commit of the last `pulumi up` that succeeded: what was merged since, and failed on the
# way to this stack, is not deployed.
set -eu
stack=$1 name=$2
shift 2

# Whether a certificate is valid for 30 more days. A text that is none ends the script.
lasts() {
  printf '%s\n' "$1" | openssl x509 -noout || exit 1
  printf '%s\n' "$1" | openssl x509 -noout -checkend $((30 * 86400)) >/dev/null
}
fingerprint() {
  printf '%s\n' "$1" | openssl x509 -noout -fingerprint -sha256
}

# The URN in the first line, and the chain.
# shellcheck disable=SC2016 # the expressions are JavaScript's
deployed=$(pulumi stack export --stack "$stack" | node -e '
  const { resources = [] } = JSON.parse(require("fs").readFileSync(0)).deployment;
  const isIt = ({ urn }) => urn.endsWith(`:TLSCertificate::${process.argv[1]}`);
  const found = resources.filter((one) => isIt(one) && !one.delete);
  if (found.length > 1) throw new Error("two certificates have this name");
  for (const { urn, outputs } of found) {
    const chain = outputs.certificatePem;
    if (typeof chain !== "string") throw new Error("the chain is a secret in the program: it need not be");
    console.log(`${urn}\n${chain}`);
  }
' "$name")
if [ -z "$deployed" ]; then
  echo "$name is not deployed yet: the next push to main does it."
  exit 0
fi
if [ "${FORCE:-}" != "$stack" ] && lasts "$deployed"; then
  exit 0
fi
chain=$(pulumi config get chain --stack "$stack")
key=$(pulumi config get key --stack "$stack")
if ! lasts "$chain"; then
  echo "The certificate in the config of $stack has not been renewed." >&2
  exit 1
fi
if [ "$(fingerprint "$chain")" = "$(fingerprint "$deployed")" ]; then
  echo "$stack has no other certificate in its config than the deployed one." >&2
  exit 1
fi

# Pulumi keeps the commit of each update. Only main is trusted with the stack's secrets.
commit=$(pulumi stack history --stack "$stack" --json --page-size 100 | node -e '
  const updates = JSON.parse(require("fs").readFileSync(0));
  const last = updates.find(({ kind, result }) => kind === "update" && result === "succeeded");
  console.log(last?.environment["git.head"] ?? "");
')
if ! git merge-base --is-ancestor "${commit:-none}" HEAD; then
  echo "The last update of $stack is not from a commit of main, but from ${commit:-none}." >&2
  exit 1
fi
git checkout --quiet --force --detach "$commit"
printf '%s\n' "$chain" | pulumi config set chain --stack "$stack"
printf '%s\n' "$key" | pulumi config set key --secret --stack "$stack"
npm ci
pulumi up --stack "$stack" --yes --non-interactive \
  --target "$(printf '%s\n' "$deployed" | head -n 1)" "$@"
