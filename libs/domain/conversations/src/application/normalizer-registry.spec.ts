import { Module, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from 'vitest';
import { Extension } from '#platform/plugins';
import { RunEventProjection } from '../domain/run-event-projection.js';
import { ConversationNormalizer } from '../domain/conversation-normalizer.js';
import { NormalizerRegistry, HEADRACE_EVENTS_FORMAT, HeadraceEventsNormalizer } from './normalizer-registry.js';

/** An extension as another team would write it: a separate library with a module in the list of the application. */
@Extension()
class ForeignNormalizer extends ConversationNormalizer {
  override readonly format = 'foreign-v1';
  override readonly version = 1;
  override open = () => new RunEventProjection();
}

@Extension()
class SecondNormalizer extends HeadraceEventsNormalizer {}

async function start(...providers: Type[]): Promise<NormalizerRegistry> {
  @Module({ providers })
  class Addition {}
  const imports = [DiscoveryModule, Addition];
  const module = await Test.createTestingModule({
    imports,
    providers: [NormalizerRegistry, HeadraceEventsNormalizer],
  }).compile();
  await module.init();
  return module.get(NormalizerRegistry);
}

describe('NormalizerRegistry', () => {
  it('finds normalizers of all modules by their format', async () => {
    const registry = await start(ForeignNormalizer);
    expect(registry.find('foreign-v1')).toBeInstanceOf(ForeignNormalizer);
    expect(registry.find(HEADRACE_EVENTS_FORMAT)).toBeInstanceOf(HeadraceEventsNormalizer);
    expect(registry.find('unheard-of')).toBeUndefined();
  });

  it('prevents the start when a format has two', async () => {
    await expect(start(SecondNormalizer)).rejects.toThrow(
      'The conversation format headrace-events-v1 has two normalizers, HeadraceEventsNormalizer and SecondNormalizer: remove one.',
    );
  });
});
