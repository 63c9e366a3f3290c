/** As one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A request as a command. The token is a variable: a copied command is often shown to others. */
export function curlOf(method: string, url: string, body?: unknown): string {
  const data =
    body === undefined ? '' : ` -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(body))}`;
  return `curl -sS -X ${method} ${quoted(url)} -H "Authorization: Bearer $TOKEN"${data}`;
}
