/**
 * What is known of the raw transcripts of a harness, whose id is the transcript's format. The plug for another one:
 * provide a class decorated with `@DescribesTranscripts()` that extends {@link TranscriptFormats}.
 */
export interface TranscriptFormat {
  readonly harness: string;
  /** Whether the file is the agent's own record, which somebody can do something with. */
  readonly hasRawDownload: boolean;
}

export abstract class TranscriptFormats {
  abstract readonly formats: readonly TranscriptFormat[];
}

/**
 * The built-in agent's file is an implementation detail: its conversation is the normalised one. OpenCode keeps its
 * sessions in a database. Other harnesses are third parties that write a file; there is one or there is none.
 */
export const STANDARD_TRANSCRIPT_FORMATS: readonly TranscriptFormat[] = [
  { harness: 'oz', hasRawDownload: false },
  { harness: 'opencode', hasRawDownload: false },
  { harness: 'claude', hasRawDownload: true },
  { harness: 'codex', hasRawDownload: true },
  { harness: 'gemini', hasRawDownload: true },
  { harness: 'qwen', hasRawDownload: true },
  { harness: 'copilot', hasRawDownload: true },
];
