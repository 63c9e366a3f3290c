import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headrace } from './demo-command.mjs';
import { copyAutomation, copyFactory, EXAMPLES, payloadOf } from './demo-examples.mjs';
import { expect, followToSuccess, until } from './demo-follow.mjs';
import { heading, printConversation, printDelivery } from './demo-print.mjs';

/**
 * Second act: each example is applied to a separate factory, and driven by deliveries. What it creates has separate
 * names, so that it can be repeated in a team that has such factories already.
 */
export async function walkThroughFactories(api, team) {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-demo-'));
  try {
    for (const example of EXAMPLES) {
      const suffix = randomBytes(4).toString('hex');
      const names = { alias: `${example.name}-${suffix}`, secret: `${example.secretName}-${suffix}` };
      const place = await applyExample(example, team, join(directory, example.name), names);
      await driveExample(api, example, place);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the UIDs of the factory and of its webhook. */
async function applyExample(example, team, directory, { alias, secret }) {
  heading(`${example.title}: a factory, and the secret of its sender`);
  const made = await headrace(['factory', 'create', `Demo: ${example.title}`, '--team', team, '--alias', alias]);
  await headrace(['secrets', 'set', secret, '--team', team], { input: example.makeSecret() });

  heading(`${example.title}: its files are applied, the webhook first`);
  copyFactory(example, directory, { alias, secret });
  const apply = ['apply', directory, '--factory', alias];
  const plan = await headrace(apply);
  const [, webhook] = new RegExp(`^\\+ *webhook *${example.webhook} *(\\w{22})`, 'm').exec(plan) ?? [];
  expect(webhook, `The plan tells of no webhook ${example.webhook}.`);

  heading(`${example.title}: then the automation, which selects the webhook by its UID`);
  copyAutomation(example, directory, webhook);
  await headrace(apply);
  return { factory: made.trim(), webhook };
}

async function driveExample(api, example, { factory, webhook }) {
  heading(`${example.title}: deliveries`);
  for (const { about, file, id, outcome } of example.deliveries) {
    console.log(`   ${about}:`);
    const code = outcome.startsWith('Rejected') ? 1 : 0;
    const send = ['webhook', 'send', payloadOf(example, file), '--webhook', webhook, '--delivery-id', id];
    await headrace(send, { code });
  }

  heading(`${example.title}: what became of them`);
  const log = await evaluatedLog(api, example, `/factories/${factory}/webhooks/${webhook}/deliveries`);
  for (const delivery of log) printDelivery(delivery);
  const outcomes = log.map(({ outcome }) => outcome);
  const expected = example.deliveries.map(({ outcome }) => outcome);
  expect(`${outcomes}` === `${expected}`, `The log should say ${expected.join(', ')}.`);

  heading(`${example.title}: the run that was started`);
  const { runs } = await api.runs(`factory_uid=${factory}`);
  expect(runs.length === 1, `${runs.length} runs were started instead of one.`);
  const { artifacts } = await followToSuccess(api, runs[0].run_id);
  printConversation(await api.conversation(runs[0].run_id));
  for (const { artifact_type, data } of artifacts) console.log(`   artifact: ${artifact_type} ${data.filename}`);

  heading(`${example.title}: Test filter on the delivery that started nothing`);
  await testFilter(api, factory, log);

  if (example.work) await dispatch(api, factory, example);
}

/** Oldest first, once every accepted delivery is evaluated. */
async function evaluatedLog(api, example, path) {
  const isDone = ({ outcome, automation_results: results }) => outcome !== 'Accepted' || results !== undefined;
  const look = async () => {
    const { deliveries } = await api.call('GET', path);
    return deliveries.length === example.deliveries.length && deliveries.every(isDone) && deliveries;
  };
  return (await until(look, () => 'The deliveries are not evaluated')).reverse();
}

async function testFilter(api, factory, log) {
  const unmatched = log.find(({ automation_results: results = [] }) => results.some(({ matched }) => !matched));
  expect(unmatched, 'There is no delivery that did not match.');
  const [{ automation_uid: automation, reason }] = unmatched.automation_results;
  const { verdict, checks } = await api.call(
    'POST',
    `/factories/${factory}/automations/${automation}/triggers/0/test`,
    {
      delivery_id: unmatched.delivery_id,
    },
  );
  console.log(`   ${verdict}`);
  for (const check of checks) console.log(`   ${check.passed ? '✓' : '✗'} ${check.check}: ${check.reason}`);
  expect(checks.at(-1).reason === reason, 'Test filter tells something else than the log.');
}

async function dispatch(api, factory, { title, work }) {
  heading(`${title}: work for the foreman`);
  const { run_id: id, foreman_agent, ticket_ref } = await api.call('POST', `/factory/${factory}/runs`, work);
  console.log(`   ${id}: ${ticket_ref} goes to ${foreman_agent}`);
  expect(foreman_agent === 'foreman', `The work goes to ${foreman_agent}.`);
  await followToSuccess(api, id);
  printConversation(await api.conversation(id));
}
