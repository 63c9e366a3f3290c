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

/** As a team would add one: a library of its own, and its module in the application's list. */
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
  it('knows the built-in agent’s transcript is not for download, others are, and what an addition says', async () => {
    const registry = await start(ForeignFormats);
    expect(['oz', 'opencode', 'claude', 'unheard-of', 'homegrown'].map((id) => registry.hasRawDownload(id))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it('stops the start when a harness is described twice, and when a marked class describes none', async () => {
    await expect(start(SecondOpinion)).rejects.toThrow('The transcripts of harness oz are described twice');
    await expect(start(NoFormats)).rejects.toThrow('NoFormats is marked with @DescribesTranscripts()');
  });
});
