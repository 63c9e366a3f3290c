import { Module, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { Extension } from '#platform/plugins';
import { TranscriptFormats, StandardTranscriptFormats, TranscriptFormatRegistry } from './transcript-formats.js';

/** An extension as another team would write it: a separate library with a module in the list of the application. */
@Extension()
class ForeignFormats extends TranscriptFormats {
  override readonly formats = [{ harness: 'homegrown', hasRawDownload: false }];
}

@Extension()
class SecondOpinion extends TranscriptFormats {
  override readonly formats = [{ harness: 'oz', hasRawDownload: true }];
}

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

  it('prevents the start when a harness is described twice', async () => {
    await expect(start(SecondOpinion)).rejects.toThrow('The transcripts of harness oz are described twice');
  });
});
