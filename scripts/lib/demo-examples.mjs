import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DemoFailed } from './api.mjs';
import { inRoot } from './paths.mjs';

/** What the demo does with the examples; their READMEs do the same. */
export const EXAMPLES = [
  {
    name: 'ci-failures',
    title: 'CI failures',
    webhook: 'builds',
    secretName: 'ci-builds',
    makeSecret: () => randomBytes(32).toString('hex'),
    automation: 'investigate',
    deliveries: [
      { about: 'A build of main has failed', file: 'failed-on-main.json', id: 'build-8412', outcome: 'Accepted' },
      { about: 'The same once more', file: 'failed-on-main.json', id: 'build-8412', outcome: 'Duplicate' },
      { about: 'A build of another branch', file: 'failed-on-branch.json', id: 'build-8413', outcome: 'Accepted' },
      { about: 'One that is cut off', file: 'cut-off.txt', id: 'build-8415', outcome: 'Rejected (invalid JSON)' },
    ],
  },
  {
    name: 'error-tracker',
    title: 'Error triage',
    webhook: 'errors',
    secretName: 'error-tracker',
    makeSecret: () => `whsec_${randomBytes(32).toString('base64')}`,
    automation: 'triage',
    deliveries: [
      { about: 'A fatal error', file: 'fatal-in-production.json', id: 'msg-4507', outcome: 'Accepted' },
      { about: 'An error of staging', file: 'error-in-staging.json', id: 'msg-4509', outcome: 'Accepted' },
    ],
    work: {
      prompt:
        'Which files of the project are about carts?\n\n```sh\nprintf "%s\\n" src/cart/total.js src/cart/item.js\n```',
      title: 'Demo: dispatched',
      ticket_ref: 'tracker:4508',
    },
  },
];

export const payloadOf = ({ name }, file) => inRoot('examples', name, 'payloads', file);

/** Copies the factory and its webhook. It is called as what it is; alias and secret get names that nobody in the team has. */
export function copyFactory({ name, title, webhook, secretName }, directory, { alias, secret }) {
  cpSync(inRoot('examples', name, 'factory'), directory, { recursive: true });
  replaceText(join(directory, 'factory.yaml'), `name: ${title}`, `name: 'Demo: ${title}'`);
  replaceText(join(directory, 'factory.yaml'), /^alias: .*$/m, `alias: ${alias}`);
  replaceText(join(directory, 'webhooks', `${webhook}.yaml`), `secretName: ${secretName}`, `secretName: ${secret}`);
}

/** Adds the automation, with the webhook's UID where its name stands. */
export function copyAutomation({ name, webhook, automation }, directory, webhookUid) {
  cpSync(inRoot('examples', name, 'automations'), join(directory, 'automations'), { recursive: true });
  const file = join(directory, 'automations', automation, 'automation.md');
  replaceText(file, `webhook_ids: [${webhook}]`, `webhook_ids: [${webhookUid}]`);
}

function replaceText(file, from, to) {
  const before = readFileSync(file, 'utf8');
  const after = before.replace(from, to);
  if (after === before) throw new DemoFailed(`${file} has no ${from}.`);
  writeFileSync(file, after);
}
