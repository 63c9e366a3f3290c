import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { DatabaseListener } from '#platform/persistence';
import { SUPERSEDED_CHANNEL } from '../persistence/presence.store.js';
import { Connections } from './connections.js';

/** Closes a connection whose worker has connected again, in this or another process. */
@Injectable()
export class SupersededConnections implements OnModuleInit, OnModuleDestroy {
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly connections: Connections,
    private readonly listener: DatabaseListener,
  ) {}

  onModuleInit(): void {
    this.unsubscribe = this.listener.subscribe(SUPERSEDED_CHANNEL, (id) =>
      this.connections.find(id)?.drop('superseded'),
    );
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }
}
