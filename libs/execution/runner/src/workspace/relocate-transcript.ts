/**
 * The transcript with the working directory of each line, in its top-level `field`, replaced: some agents know a session
 * only in the directory in which it began. Lines that are no objects, and those without the field, stay as they are.
 */
export function relocateTranscript(bytes: Uint8Array, field: string, cwd: string): Uint8Array {
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  return Buffer.from(lines.map((line) => relocated(line, field, cwd)).join('\n'), 'utf8');
}

function relocated(line: string, field: string, cwd: string): string {
  try {
    const record = JSON.parse(line) as unknown;
    if (typeof record !== 'object' || record === null || !Object.hasOwn(record, field)) return line;
    return JSON.stringify({ ...record, [field]: cwd });
  } catch {
    return line; // the end of the file, or nothing of ours
  }
}
