import type { Readable } from 'node:stream';
import { ObjectStore, type PutOptions, type SignedUrlOptions, type StoredObject } from './object-store.js';

/** The store of a plugin, for providers that are created before it. */
export class PluginObjectStore extends ObjectStore {
  private store: ObjectStore | null = null;

  /** Called once, before the first use. */
  use(store: ObjectStore): void {
    this.store = store;
  }

  override put(key: string, content: Readable | Buffer, options: PutOptions): Promise<{ sizeBytes: number }> {
    return this.target.put(key, content, options);
  }

  override get(key: string): Promise<StoredObject | null> {
    return this.target.get(key);
  }

  override delete(key: string): Promise<void> {
    return this.target.delete(key);
  }

  override deletePrefix(prefix: string): Promise<void> {
    return this.target.deletePrefix(prefix);
  }

  override signedUrl(key: string, options: SignedUrlOptions): Promise<string> {
    return this.target.signedUrl(key, options);
  }

  override list(): AsyncGenerator<string> {
    return this.target.list();
  }

  override assertWritable(): Promise<void> {
    return this.target.assertWritable();
  }

  override close(): void {
    this.store?.close();
  }

  private get target(): ObjectStore {
    if (!this.store) throw new Error('The object store of the plugin is used before the modules are initialized.');
    return this.store;
  }
}
