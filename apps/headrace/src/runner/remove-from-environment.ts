import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Removes variables from the environment of this process and returns their values. On Linux it also overwrites the copy in
 * /proc, which other processes of the user can read and which keeps the state of the start of the process otherwise.
 */
export function removeFromEnvironment<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  const values = Object.fromEntries(names.map((name) => [name, process.env[name] ?? ''])) as Record<Name, string>;
  for (const name of names) delete process.env[name];
  overwrite(names);
  return values;
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
    return; // other systems, or a system that forbids it: our own children still do not inherit the variables
  } finally {
    if (memory !== undefined) closeSync(memory);
  }
}

/** Address of the environment in the memory of the process: field 50 of /proc/self/stat; 0 when it is not available. */
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
