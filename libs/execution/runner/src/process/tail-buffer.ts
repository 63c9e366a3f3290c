/** Keeps the last `maxBytes` of a byte stream; as text it never starts inside a character. */
export class TailBuffer {
  private chunks: Buffer[] = [];
  private kept = 0;
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  append(chunk: Buffer): void {
    this.total += chunk.length;
    this.chunks.push(chunk);
    this.kept += chunk.length;
    // Trim whole chunks only once twice too much is kept: appending stays cheap.
    if (this.kept > 2 * this.maxBytes) this.compact();
  }

  /** Whether something was left out. */
  get truncated(): boolean {
    return this.total > this.maxBytes;
  }

  toString(): string {
    this.compact();
    const bytes = this.chunks[0] ?? Buffer.alloc(0);
    let start = 0;
    if (this.truncated) while (start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString('utf8', start);
  }

  private compact(): void {
    const all = Buffer.concat(this.chunks);
    const tail = all.subarray(Math.max(0, all.length - this.maxBytes));
    // A copy, so that the big buffer behind the slice can go.
    this.chunks = [Buffer.from(tail)];
    this.kept = tail.length;
  }
}
