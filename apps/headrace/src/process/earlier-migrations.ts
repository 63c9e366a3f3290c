import type { EarlierSchema } from '#platform/persistence';

/**
 * The migrations of version 0.1.0 before they became SQL files. A database that has them all has exactly what the files up
 * to the baseline create, which test/persistence/upgrade.e2e-spec.ts proves.
 */
export const EARLIER_SCHEMA: EarlierSchema = {
  baseline: '2026-11-22',
  advice:
    'Run `headrace migrate` of Headrace 0.1.0 at commit 95b390d, the last one with these migrations, and start this version afterwards.',
  migrations: [
    'Identity1700000000001',
    'Identity1700000000002',
    'Storage1700000000501',
    'Secrets1700000000601',
    'Factories1700000001001',
    'Environments1700000002001',
    'Agents1700000002501',
    'Runs1700000003001',
    'Runs1700000003002',
    'Runs1700000003003',
    'Runs1700000003004',
    'Runs1700000003005',
    'Runs1700000003006',
    'Runs1700000003007',
    'Conversations1700000004001',
    'Webhooks1700000005001',
    'Automations1700000006001',
    'Runs1700000006101',
    'Agents1700000006301',
    'Definitions1700000006401',
    'Schedules1700000007001',
    'Environments1700000007101',
    'Runs1700000007301',
    'Runs1700000007601',
    'Workers1700000008001',
    'Runs1700000008101',
    'HarnessInstallations1700000008301',
    'Runs1700000008401',
    'Notifications1700000009001',
    'WebhookLosses1700000009301',
    'Runs1700000010101',
    'Workers1700000010201',
    'Runs1700000010202',
    'Identity1700000010203',
    'Agents1700000010204',
    'Identity1700000010401',
    'SecretPurposes1700000010402',
    'IdentitySecrets1700000010403',
    'WebhookSignatures1700000010501',
    'Runs1700000010502',
    'Runs1700000010701',
  ],
};
