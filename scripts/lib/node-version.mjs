const NEEDED = [20, 19];

/** Ends the process with a sentence that helps when Node is too old. Written so that old versions can still read it. */
export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return;
  console.error(
    `Headrace needs Node.js ${NEEDED.join('.')} or newer; this is ${process.versions.node}. See https://nodejs.org.`,
  );
  process.exit(1);
}
