import type { MigrationClass } from '#platform/persistence';
import { SecretPurposes1700000010402 } from './persistence/secret-purposes-1700000010402.js';
import { Secrets1700000000601 } from './persistence/secrets-1700000000601.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const secretMigrations: readonly MigrationClass[] = [Secrets1700000000601, SecretPurposes1700000010402];
