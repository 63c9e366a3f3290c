import { Injectable } from '@nestjs/common';
import { BackgroundTasks, defineTask } from 'headrace/plugin';
import { NotesStore } from './notes.store.js';

/** One processor of the installation runs it once per period. */
const DELETE_EXPIRED_NOTES = defineTask({
  name: 'delete-expired-notes',
  library: 'example-resource',
  process: 'processor',
  scope: 'cluster',
  period: 1000,
  description: 'Deletes notes whose time is over.',
  queue: { name: 'example-resource' },
});

@Injectable()
export class DeleteExpiredNotes {
  constructor(tasks: BackgroundTasks, store: NotesStore) {
    tasks.implement(DELETE_EXPIRED_NOTES, () => store.deleteExpired());
  }
}
