import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Takes variables out of this process's environment and returns their values. On Linux the copy that others of the same
 * user may read in /proc is overwritten too: deleting a variable leaves that one as it was when the process started.
 */
export function takeFromEnvironment<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  const taken = Object.fromEntries(names.map((name) => [name, process.env[name] ?? ''])) as Record<Name, string>;
  for (const name of names) delete process.env[name];
  overwrite(names);
  return taken;
}

function overwrite(names: readonly string[]): void {
  let memory: number | undefined;
  try {
    const environ = readFileSync('/proc/self/environ');
    const start = environmentStart();
    if (start === 0) return;
    for (const name of names) {
      for (const { from, length } of valuesOf(environ, name)) {
        memory ??= openSync('/proc/self/mem', 'r+');
        writeSync(memory, Buffer.alloc(length, 'x'), 0, length, start + from);
      }
    }
  } catch {
    return; // another system, or one that forbids it: the variable is gone for our own children all the same
  } finally {
    if (memory !== undefined) closeSync(memory);
  }
}

/** Where the process's environment lies in its memory: field 50 of /proc/self/stat; 0 when it is not told. */
function environmentStart(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = Number(fields[47]);
  return Number.isSafeInteger(start) ? start : 0;
}

function valuesOf(environ: Buffer, name: string): { from: number; length: number }[] {
  const found: { from: number; length: number }[] = [];
  const prefix = Buffer.from(`${name}=`);
  for (let at = 0; at < environ.length;) {
    const end = environ.indexOf(0, at);
    const stop = end < 0 ? environ.length : end;
    if (environ.subarray(at, stop).subarray(0, prefix.length).equals(prefix))
      found.push({ from: at + prefix.length, length: stop - at - prefix.length });
    at = stop + 1;
  }
  return found;
}
