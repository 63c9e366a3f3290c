const BLOCK_BYTES = 512;

/** A tar archive that holds one empty directory that everybody may make files in, and nobody may take another's away. */
export function directoryArchive(name: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(`${name}/`, 0, 'ascii');
  header.write(octal(0o1777, 7), 100, 'ascii');
  header.write(octal(0, 7), 108, 'ascii');
  header.write(octal(0, 7), 116, 'ascii');
  header.write(octal(0, 11), 124, 'ascii');
  header.write(octal(0, 11), 136, 'ascii');
  // The sum counts itself as spaces.
  header.write(' '.repeat(8), 148, 'ascii');
  header.write('5', 156, 'ascii');
  header.write('ustar\0', 257, 'ascii');
  header.write('00', 263, 'ascii');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
  return Buffer.concat([header, Buffer.alloc(2 * BLOCK_BYTES)]);
}
