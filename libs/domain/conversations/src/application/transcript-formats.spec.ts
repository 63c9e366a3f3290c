import { Injectable, Module, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import {
  TranscriptFormats,
  DescribesTranscripts,
  StandardTranscriptFormats,
  TranscriptFormatRegistry,
} from './transcript-formats.js';

/** An extension as another team would write it: a separate library with a module in the list of the application. */
@DescribesTranscripts()
class ForeignFormats extends TranscriptFormats {
  override readonly formats = [{ harness: 'homegrown', hasRawDownload: false }];
}

@DescribesTranscripts()
class SecondOpinion extends TranscriptFormats {
  override readonly formats = [{ harness: 'oz', hasRawDownload: true }];
}

@DescribesTranscripts()
@Injectable()
class NoFormats {}

async function start(...providers: Type[]): Promise<TranscriptFormatRegistry> {
  @Module({ providers })
  class Addition {}
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule, Addition],
    providers: [TranscriptFormatRegistry, StandardTranscriptFormats],
  }).compile();
  await module.init();
  return module.get(TranscriptFormatRegistry);
}

describe('TranscriptFormatRegistry', () => {
  it('offers no download for the built-in agent, but for other harnesses and as an extension describes', async () => {
    const registry = await start(ForeignFormats);
    expect(['oz', 'opencode', 'claude', 'unheard-of', 'homegrown'].map((id) => registry.hasRawDownload(id))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it('prevents the start when a harness is described twice, and when a marked class has the wrong type', async () => {
    await expect(start(SecondOpinion)).rejects.toThrow('The transcripts of harness oz are described twice');
    await expect(start(NoFormats)).rejects.toThrow('NoFormats is marked with @DescribesTranscripts()');
  });
});
