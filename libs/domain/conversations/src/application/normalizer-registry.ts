import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Extension, extensionsOf } from '#platform/plugins';
import { ConversationNormalizer, type StoredProjection } from '../domain/conversation-normalizer.js';
import { RunEventProjection } from '../domain/run-event-projection.js';
import type { ProjectionState } from '../domain/projection-state.js';

@Injectable()
export class NormalizerRegistry implements OnModuleInit {
  private readonly byFormat = new Map<string, ConversationNormalizer>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const normalizer of extensionsOf(this.discovery, ConversationNormalizer)) {
      const other = this.byFormat.get(normalizer.format);
      if (other) {
        throw new Error(
          `The conversation format ${normalizer.format} has two normalizers, ${other.constructor.name} and ${normalizer.constructor.name}: remove one.`,
        );
      }
      this.byFormat.set(normalizer.format, normalizer);
    }
  }

  find(format: string): ConversationNormalizer | undefined {
    return this.byFormat.get(format);
  }
}

/** The format of every run that reports through the runner protocol. */
export const HEADRACE_EVENTS_FORMAT = 'headrace-events-v1';

@Extension()
export class HeadraceEventsNormalizer extends ConversationNormalizer {
  override readonly format = HEADRACE_EVENTS_FORMAT;
  override readonly version = 1;

  override open(stored: StoredProjection): RunEventProjection {
    return new RunEventProjection(stored as ProjectionState);
  }
}
