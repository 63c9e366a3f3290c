const HEADER_BYTES = 8;

/**
 * Takes apart what an engine sends for a container without a terminal: frames of a header (which stream, three zeros,
 * length in four bytes) and content. Content is passed on as it comes, never kept.
 */
export class OutputFrames {
  private header = Buffer.alloc(0);
  private left = 0;

  constructor(private readonly onContent: (content: Buffer) => void) {}

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.left > 0) {
        const content = rest.subarray(0, this.left);
        this.left -= content.length;
        rest = rest.subarray(content.length);
        this.onContent(content);
        continue;
      }
      const wanted = HEADER_BYTES - this.header.length;
      this.header = Buffer.concat([this.header, rest.subarray(0, wanted)]);
      rest = rest.subarray(wanted);
      if (this.header.length < HEADER_BYTES) return;
      this.left = this.header.readUInt32BE(4);
      this.header = Buffer.alloc(0);
    }
  }
}
