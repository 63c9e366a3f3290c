import type { MigrationClass } from '#platform/persistence';
import { Automations1700000006001 } from './persistence/automations-1700000006001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const automationMigrations: readonly MigrationClass[] = [Automations1700000006001];
