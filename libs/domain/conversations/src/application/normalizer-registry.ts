import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ConversationNormalizer, type StoredProjection } from '../domain/conversation-normalizer.js';
import { RunEventProjection } from '../domain/run-event-projection.js';
import type { ProjectionState } from '../domain/projection-state.js';

/** Marks a provider of any module as the normalizer of its format. */
export const NormalizesConversations = DiscoveryService.createDecorator<void>();

@Injectable()
export class NormalizerRegistry implements OnModuleInit {
  private readonly byFormat = new Map<string, ConversationNormalizer>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { instance, name } of this.discovery.getProviders({ metadataKey: NormalizesConversations.KEY })) {
      if (!(instance instanceof ConversationNormalizer)) {
        throw new Error(
          `${String(name)} is marked with @NormalizesConversations() and has to extend ConversationNormalizer.`,
        );
      }
      const other = this.byFormat.get(instance.format);
      if (other === instance) continue;
      if (other) {
        throw new Error(
          `The conversation format ${instance.format} has two normalizers, ${other.constructor.name} and ${String(name)}: remove one.`,
        );
      }
      this.byFormat.set(instance.format, instance);
    }
  }

  find(format: string): ConversationNormalizer | undefined {
    return this.byFormat.get(format);
  }
}

/** The format of every run that reports through the runner protocol. */
export const HEADRACE_EVENTS_FORMAT = 'headrace-events-v1';

@NormalizesConversations()
export class HeadraceEventsNormalizer extends ConversationNormalizer {
  override readonly format = HEADRACE_EVENTS_FORMAT;
  override readonly version = 1;

  override open(stored: StoredProjection): RunEventProjection {
    return new RunEventProjection(stored as ProjectionState);
  }
}
