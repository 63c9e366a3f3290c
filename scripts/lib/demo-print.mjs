export const indent = (text, by) => text.trimEnd().replaceAll(/^(?=.)/gm, ' '.repeat(by));

export const heading = (text) => console.log(`\n== ${text}`);

/** Prints timeline events that have not been printed yet; returns how many there are. */
export function printNewEvents(events, alreadyPrinted) {
  for (const { occurred_at, event_type, payload } of events.slice(alreadyPrinted)) {
    const detail = payload && Object.keys(payload).length > 0 ? ` ${JSON.stringify(payload).slice(0, 120)}` : '';
    console.log(`   ${occurred_at}  ${event_type}${detail}`);
  }
  return events.length;
}

/** Prints a conversation: what was said, done and answered, delegated work indented. */
export function printConversation({ steps }, depth = 3) {
  for (const step of steps) {
    for (const { role, content } of step.messages) for (const block of content) printBlock(role, block, depth);
    printConversation(step, depth + 3);
  }
}

function printBlock(role, block, depth) {
  if (block.type === 'text') console.log(indent(`${role}: ${block.text}`, depth));
  if (block.type === 'action')
    console.log(indent(`→ ${block.name} [${block.category}] ${JSON.stringify(block.input)}`, depth));
  if (block.type === 'action_result') console.log(indent(`← ${block.state} ${JSON.stringify(block.output)}`, depth));
  if (block.type === 'event') console.log(indent(`· ${block.name}`, depth));
}

/** Prints a line of a webhook's log, and what each automation made of the delivery. */
export function printDelivery({ outcome, identity, automation_results: results = [] }) {
  console.log(`   ${outcome.padEnd(23)}  ${identity ?? ''}`);
  for (const { matched, run_id, reason } of results)
    console.log(`      ${matched ? `started run ${run_id}` : 'started nothing'}: ${reason}`);
}
