import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ExtensionPoint } from '#platform/kernel';
import { Extension, extensionsOf } from '#platform/plugins';

/**
 * Raw transcripts of a harness; its id is the transcript's format.
 */
export interface TranscriptFormat {
  readonly harness: string;
  /** Whether the file is a record of the agent that is useful to download. */
  readonly hasRawDownload: boolean;
}

/** Extension point: the transcripts of further harnesses. */
@ExtensionPoint()
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

@Extension()
export class StandardTranscriptFormats extends TranscriptFormats {
  override readonly formats = STANDARD_TRANSCRIPT_FORMATS;
}

/** Which harnesses have raw transcripts to download. Two descriptions of one harness prevent the start. */
@Injectable()
export class TranscriptFormatRegistry implements OnModuleInit {
  private readonly byHarness = new Map<string, { hasRawDownload: boolean; source: TranscriptFormats }>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const source of extensionsOf(this.discovery, TranscriptFormats))
      for (const { harness, hasRawDownload } of source.formats) this.add(harness, hasRawDownload, source);
  }

  /** A harness without a description is a third party's: its transcript can be downloaded. */
  hasRawDownload(harness: string): boolean {
    return this.byHarness.get(harness)?.hasRawDownload ?? true;
  }

  private add(harness: string, hasRawDownload: boolean, source: TranscriptFormats): void {
    const other = this.byHarness.get(harness)?.source;
    if (other && other !== source) {
      const names = `${other.constructor.name} and ${source.constructor.name}`;
      throw new Error(`The transcripts of harness ${harness} are described twice, by ${names}: remove one.`);
    }
    this.byHarness.set(harness, { hasRawDownload, source });
  }
}
