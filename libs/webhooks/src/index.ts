import type { MigrationClass } from '#libs/persistence';
import { Webhooks1700000005001 } from './persistence/webhooks-1700000005001.js';

export type { AutomationResult } from './domain/delivery.js';
export type { IncomingRequest } from './domain/signing/incoming-request.js';
export type { SignableRequest, SignatureScheme } from './domain/signing/signature-scheme.js';
export const webhookMigrations: readonly MigrationClass[] = [Webhooks1700000005001];
