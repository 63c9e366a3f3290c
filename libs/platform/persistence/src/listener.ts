import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import pg from 'pg';
import { sessionOptions } from './connection-options.js';
import { isDatabaseUnavailable } from './database-error.js';

export const LISTENER_DATABASE_URL = Symbol('LISTENER_DATABASE_URL');

type Handler = (payload: string) => void;

/**
 * One LISTEN connection per process, distributed in memory. Notifications are hints: every subscriber also polls, so a lost one
 * costs time, never correctness. Reconnects without limit; handlers are called with an empty payload whenever their channel
 * begins to be listened to, because notifications may have been missed.
 */
@Injectable()
export class DatabaseListener implements OnModuleDestroy {
  private readonly logger = new Logger(DatabaseListener.name);
  private readonly handlers = new Map<string, Set<Handler>>();
  private client: pg.Client | null = null;
  private connecting: Promise<void> | null = null;
  private listening: Promise<void> = Promise.resolve();
  private retry: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(@Inject(LISTENER_DATABASE_URL) private readonly databaseUrl: string) {}

  subscribe(channel: string, handler: Handler): () => void {
    const known = this.handlers.get(channel);
    const set = known ?? new Set<Handler>();
    set.add(handler);
    if (!known) {
      this.handlers.set(channel, set);
      if (this.client) this.listen(this.client, [channel]);
    }
    this.connect();
    return () => set.delete(handler);
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    if (this.retry) clearTimeout(this.retry);
    await this.connecting;
    await this.client?.end();
    this.client = null;
  }

  private connect(): void {
    if (this.client || this.connecting || this.closed) return;
    const client = new pg.Client({
      connectionString: this.databaseUrl,
      options: sessionOptions(0),
      keepAlive: true,
      application_name: 'headrace-listen',
    });
    const lost = (error?: Error): void => {
      if (this.client === client) this.client = null;
      if (error && !isDatabaseUnavailable(error)) this.logger.warn(`LISTEN connection failed: ${error.message}`);
      this.scheduleRetry();
    };
    client.on('error', lost);
    client.on('end', () => lost());
    client.on('notification', ({ channel, payload }) => this.dispatch(channel, payload ?? ''));
    this.connecting = client
      .connect()
      .then(() => {
        this.client = client;
        this.listen(client, [...this.handlers.keys()]);
      })
      .catch(lost)
      .finally(() => {
        this.connecting = null;
      });
  }

  /** One statement after the other: a client runs one at a time. */
  private listen(client: pg.Client, channels: readonly string[]): void {
    const statement = channels.map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`).join('; ');
    this.listening = this.listening
      .then(async () => {
        if (this.client !== client) return;
        await client.query(statement);
        // Not before: a notification between the call and the statement would reach nobody.
        for (const channel of channels) this.dispatch(channel, '');
      })
      // A failing LISTEN also breaks the connection, whose `error` handler reconnects; the message is kept for the log.
      .catch((error: unknown) => {
        if (!this.closed) this.logger.warn(`LISTEN ${channels.join(', ')} failed: ${String(error)}`);
      });
  }

  private dispatch(channel: string, payload: string): void {
    for (const handler of this.handlers.get(channel) ?? []) handler(payload);
  }

  private scheduleRetry(): void {
    if (this.closed || this.retry) return;
    this.retry = setTimeout(() => {
      this.retry = null;
      this.connect();
    }, 250);
  }
}
