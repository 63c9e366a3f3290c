import type { MigrationClass } from '#platform/persistence';
import { Conversations1700000004001 } from './conversations-1700000004001.js';

export const conversationMigrations: readonly MigrationClass[] = [Conversations1700000004001];
