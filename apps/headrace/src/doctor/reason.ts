/** Why something failed, in a few words: the code of the system where there is one, else the first line of the message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  const [line = ''] = error.message.split('\n');
  if (typeof code === 'string' && /^(E[A-Z]+|EAI_AGAIN)$/.test(code)) return code;
  return line.trim() === '' ? error.name : line.trim().replace(/\.$/, '');
}
