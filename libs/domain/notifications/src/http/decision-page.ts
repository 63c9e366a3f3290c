import { createHash } from 'node:crypto';
import { withoutHidden } from '#platform/kernel';

/** Colors have enough contrast in both schemes; buttons are large enough for a finger. */
const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1.5rem 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem;margin:0 0 1rem}dt{font-weight:600;margin-top:.8rem}dd{margin:0}
.text{white-space:pre-wrap;overflow-wrap:anywhere}pre{background:#f2f4f6;padding:.6rem;border-radius:6px;font-size:.85rem;max-height:40vh;overflow:auto}
button{font:inherit;font-weight:600;width:100%;min-height:48px;margin:1.2rem 0 .4rem;border:0;border-radius:6px;color:#fff;background:#0a58ca}
button.good{background:#1a7f37}button.bad{background:#b42318}
textarea{box-sizing:border-box;font:inherit;width:100%;min-height:7rem;margin-top:.3rem}label{display:block;font-weight:600;margin-top:1rem}
.note{color:#57606a}.error{color:#b42318;font-weight:600}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}.note{color:#9da7b3}.error{color:#ff7b72}a{color:#6cb6ff}}`;

/** No script, nothing from elsewhere, no frame; the form is sent to the same origin only. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** The address is the permission: it must not be stored, indexed, or sent to another server. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex, nofollow, noarchive',
};

/** Markup that {@link markup} has escaped. */
export interface Markup {
  readonly html: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string =>
  withoutHidden(text.toWellFormed().replace(/\r\n?/g, '\n')).replace(
    /[&<>"']/g,
    (character) => ENTITIES[character] ?? character,
  );

type Part = string | number | Markup | readonly Markup[] | null;

const htmlOf = (part: Part): string => {
  if (part === null) return '';
  if (typeof part === 'string' || typeof part === 'number') return escape(String(part));
  return 'html' in part ? part.html : part.map(({ html }) => html).join('');
};

/** Every value is escaped unless it is {@link Markup}. */
export const markup = (texts: TemplateStringsArray, ...parts: readonly Part[]): Markup => ({
  html: texts.map((text, index) => text + htmlOf(parts[index] ?? null)).join(''),
});

export interface DecisionForm {
  readonly heading: string;
  readonly runTitle: string;
  readonly requestLabel: string;
  readonly request: string;
  /** The arguments of the action. */
  readonly input: string | null;
  /** The option that becomes the answer. */
  readonly answer: string | null;
  readonly asksText: boolean;
  readonly button: { readonly label: string; readonly tone: 'good' | 'bad' | 'neutral' };
  readonly note: string;
  readonly error: string | null;
}

/** The form is sent to the address of the page. */
export function formPage(form: DecisionForm): string {
  const entry = (name: string, value: string): Markup =>
    markup`<dt>${name}</dt><dd class="text" dir="auto">${value}</dd>`;
  return page(
    form.heading,
    markup`<dl>${entry('Run', form.runTitle)}${entry(form.requestLabel, form.request)}${
      form.answer === null ? null : entry('Answer', form.answer)
    }</dl>${form.input === null ? null : markup`<pre class="text" tabindex="0">${form.input}</pre>`}
<form method="post">${
      form.asksText
        ? markup`<label for="text">Your answer</label><textarea id="text" name="text" required maxlength="10000"></textarea>`
        : null
    }${form.error === null ? null : markup`<p class="error" role="alert">${form.error}</p>`}<button class="${form.button.tone}">${
      form.button.label
    }</button></form><p class="note">${form.note}</p>`,
  );
}

export interface Message {
  readonly heading: string;
  readonly text: string;
  /** A page of the console, which needs a session. */
  readonly link?: { readonly url: string; readonly label: string };
}

export const messagePage = ({ heading, text, link }: Message): string =>
  page(
    heading,
    markup`<p class="text" dir="auto">${text}</p>${
      link === undefined ? null : markup`<p><a href="${link.url}" rel="noreferrer">${link.label}</a></p>`
    }`,
  );

const page = (heading: string, body: Markup): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escape(heading)} · Headrace</title>
<style>${STYLE}</style></head>
<body><main><h1>${escape(heading)}</h1>${body.html}</main></body>
</html>
`;
