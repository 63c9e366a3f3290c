import { type DynamicModule, Module } from '@nestjs/common';
import { Plugin, type PluginProcess } from 'headrace/plugin';
import { DeleteExpiredNotes } from './delete-expired-notes.js';
import { NotesController } from './notes.controller.js';
import { NotesStore } from './notes.store.js';

/** Routes for the API, a task for the processor. */
@Plugin({
  name: 'example-resource',
  version: '1.0.0',
  headrace: '^0.2',
  processes: ['api', 'processor'],
  migrations: new URL('../../sql', import.meta.url),
  permissions: { 'notes:read': 'viewer', 'notes:manage': 'admin' },
})
@Module({})
export default class NotesPlugin {
  static forProcess(process: PluginProcess): DynamicModule {
    const isApi = process === 'api';
    return {
      module: NotesPlugin,
      controllers: isApi ? [NotesController] : [],
      providers: isApi ? [NotesStore] : [NotesStore, DeleteExpiredNotes],
    };
  }
}
