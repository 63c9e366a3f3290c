import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { STANDARD_TRANSCRIPT_FORMATS, TranscriptFormats } from '../domain/transcript-format.js';

/** Marks a provider, in whichever module, as describing transcripts of its harnesses. */
export const DescribesTranscripts = DiscoveryService.createDecorator<void>();

@DescribesTranscripts()
@Injectable()
export class StandardTranscriptFormats extends TranscriptFormats {
  override readonly formats = STANDARD_TRANSCRIPT_FORMATS;
}

/** Which harnesses have raw transcripts to download. An application that describes one harness twice does not start. */
@Injectable()
export class TranscriptFormatRegistry implements OnModuleInit {
  private readonly byHarness = new Map<string, { hasRawDownload: boolean; source: TranscriptFormats }>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { instance, name } of this.discovery.getProviders({ metadataKey: DescribesTranscripts.KEY })) {
      if (!(instance instanceof TranscriptFormats))
        throw new Error(`${String(name)} is marked with @DescribesTranscripts() and has to extend TranscriptFormats.`);
      for (const { harness, hasRawDownload } of instance.formats) this.add(harness, hasRawDownload, instance);
    }
  }

  /** A harness that nobody has described is a third party's: its transcript is its own file. */
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
