import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Installation } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Each theme, and each width. */
const LOOKS = [
  { width: 360, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const;

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** A page of the console in its own browser context, with everything that must not happen in it. */
export class ConsolePage {
  /** Errors of the page and of its console, blocked by the policy or not. */
  readonly errors: string[] = [];
  /** Hosts other than the console's own that were contacted. */
  readonly foreign: string[] = [];
  private checks = 0;

  private constructor(
    readonly page: Page,
    readonly origin: string,
  ) {
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith('data:') && new URL(url).origin !== origin) this.foreign.push(url);
    });
  }

  /** Signed in by a link. */
  static async open(
    browser: Browser,
    installation: Installation,
    options: BrowserContextOptions = {},
  ): Promise<ConsolePage> {
    const { origin } = new URL(installation.connection.base_url);
    const console = await ConsolePage.signedOut(browser, origin, options);
    const { body } = await installation.call('POST', '/login-links', {});
    await console.page.goto(body.url);
    await console.button('Sign in with this link').click();
    await console.page.waitForURL(`${origin}/console/runs`).catch(async (cause: unknown) => {
      const shown = await console.page.locator('body').innerText();
      throw new Error(`The sign-in did not open the runs. Page: ${shown} Errors: ${console.errors.join('; ')}`, {
        cause,
      });
    });
    return console;
  }

  static async signedOut(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<ConsolePage> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    return new ConsolePage(await context.newPage(), origin);
  }

  async go(path: string): Promise<void> {
    await this.page.goto(`${this.origin}/console/${path}`);
    await this.page.getByRole('main').waitFor();
  }

  /** The view has its data. The network is never idle: a browser does not report the end of an event stream. */
  async loaded(): Promise<void> {
    await this.page.getByRole('main').getByRole('heading', { level: 1 }).first().waitFor();
    await this.page.getByText('Loading …').first().waitFor({ state: 'detached' });
  }

  button(name: string) {
    return this.page.getByRole('button', { name, exact: true });
  }

  /** The state that the page of a run shows. */
  state(state: string) {
    return this.page.locator(`.head [data-state=${state}]`);
  }

  async createRun(prompt: string): Promise<string> {
    await this.go('runs?new=1');
    await this.page.getByLabel('Prompt').fill(prompt);
    await this.button('Create run').click();
    await this.page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);
    return new URL(this.page.url()).pathname.split('/').at(-1) ?? '';
  }

  /** No violation of WCAG 2.2 AA or of the best practices, and no content that is wider than the window. */
  async expectAccessible(): Promise<void> {
    // Not by a script element, which the policy forbids.
    if (await this.page.evaluate('typeof axe === "undefined"')) await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate<AxeResult>(
      `axe.run(document, { resultTypes: ['violations'], runOnly: ${JSON.stringify(RULES)} })`,
    );
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    const overflow = await this.page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect({ url: this.page.url(), found, overflow }).toEqual({ url: this.page.url(), found: [], overflow: 0 });
  }

  /** Checks each of LOOKS; without `isLong` only one of them, and the other one in the next call. The window is wide afterwards. */
  async expectAccessibleEverywhere(): Promise<void> {
    this.checks += 1;
    for (const look of isLong ? LOOKS : [LOOKS[this.checks % 2 === 0 ? 1 : 0]]) {
      await this.page.setViewportSize({ width: look.width, height: 900 });
      await this.page.emulateMedia({ colorScheme: look.colorScheme });
      await this.expectAccessible();
    }
    await this.page.setViewportSize({ width: 1440, height: 900 });
  }

  /** The browser reports a rejected request as an error. Fails without one, and leaves all other errors. */
  expectRejected(status: number): void {
    const others = this.errors.filter((text) => !text.includes(`the server responded with a status of ${status} `));
    expect(others.length, this.errors.join('\n')).toBeLessThan(this.errors.length);
    this.errors.splice(0, this.errors.length, ...others);
  }

  expectQuiet(): void {
    expect(this.errors).toEqual([]);
    expect(this.foreign).toEqual([]);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
