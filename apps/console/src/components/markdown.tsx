import type { Token, Tokens } from 'marked';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { parseMarkdown } from './markdown-parser';

/**
 * Markdown of agents and users as elements. Nothing of it is inserted as markup: HTML is shown as text, and links lead to
 * http, https and mailto only.
 */
export function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => parseMarkdown(text), [text]);
  return <div class="markdown">{tokens === null ? <pre tabIndex={0}>{text}</pre> : blocks(tokens)}</div>;
}

/** Deeper blocks are shown as they were written. */
const MAX_DEPTH = 12;

const blocks = (tokens: readonly Token[] = [], depth = 0): (VNode | string | null)[] =>
  depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.map((token) => block(token as Tokens.Generic, depth + 1));

function block(token: Tokens.Generic, depth: number): VNode | string | null {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    // Not a heading of the page: their levels would not follow each other.
    case 'heading':
      return <p class={`heading level-${token['depth'] as number}`}>{inline(token.tokens, depth)}</p>;
    case 'paragraph':
      return <p>{inline(token.tokens, depth)}</p>;
    case 'code':
      return (
        <pre tabIndex={0}>
          {/* An empty block says all in its first line, such as a permission request of the built-in agent. */}
          <code>{(token['text'] as string) || ((token as Tokens.Code).lang ?? '')}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{blocks(token.tokens, depth)}</blockquote>;
    case 'list': {
      const { items, ordered, start } = token as Tokens.List;
      const children = items.map((item) => <li>{blocks(item.tokens, depth)}</li>);
      return ordered ? <ol start={start === '' ? 1 : start}>{children}</ol> : <ul>{children}</ul>;
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return (
        <div class="scroll" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {header.map((cell) => (
                  <th scope="col">{inline(cell.tokens, depth)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr>
                  {row.map((cell) => (
                    <td>{inline(cell.tokens, depth)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case 'hr':
      return <hr />;
    case 'text':
      return <>{token.tokens ? inline(token.tokens, depth) : (token['text'] as string)}</>;
    default:
      return <p>{token.raw}</p>;
  }
}

const inline = (tokens: readonly Token[] = [], depth = 0): (VNode | string)[] =>
  depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.map((token) => span(token as Tokens.Generic, depth + 1));

function span(token: Tokens.Generic, depth: number): VNode | string {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{inline(token.tokens, depth)}</em>;
    case 'del':
      return <del>{inline(token.tokens, depth)}</del>;
    case 'codespan':
      return <code>{token['text'] as string}</code>;
    case 'br':
      return <br />;
    case 'link': {
      const target = safeUrl(token['href'] as string);
      const label = inline(token.tokens, depth);
      return target === null ? (
        <>{label}</>
      ) : (
        <a href={target} target="_blank" rel="noopener noreferrer nofollow">
          {label}
        </a>
      );
    }
    // An image of another host would tell it who reads this.
    case 'image':
      return `[${token['text'] as string}]`;
    case 'escape':
    case 'text':
      return token.tokens ? <>{inline(token.tokens, depth)}</> : unescaped(token['text'] as string);
    default:
      return token.raw;
  }
}

function safeUrl(href: string): string | null {
  try {
    const url = new URL(unescaped(href));
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
