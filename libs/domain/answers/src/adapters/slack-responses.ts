import { Injectable } from '@nestjs/common';
import { parseUrl } from '#platform/kernel';
import { Settings } from '#platform/config';
import { slackApiOf } from './slack-connection.js';

/** Less than the time of an evaluation. */
const TIMEOUT_MS = 3_000;

/** Responses to clicks, which only the person who has clicked sees. */
@Injectable()
export class SlackResponses {
  constructor(private readonly settings: Settings) {}

  /** Returns why it was not sent, without an address; null: it was. `text`: names come from Slack, and are escaped. */
  async send(responseUrl: string, text: string, signal?: AbortSignal): Promise<string | null> {
    if (!this.isOfSlack(responseUrl)) return 'Its address is not one of Slack.';
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(responseUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ response_type: 'ephemeral', replace_original: false, text: escape(text) }),
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      return response.ok ? null : `Slack has responded with ${response.status}.`;
    } catch {
      return 'Slack does not respond.';
    }
  }

  /** The origin of the API, or the same host with the prefix `hooks`: for slack.com it is hooks.slack.com. */
  private isOfSlack(address: string): boolean {
    const url = parseUrl(address);
    if (url === null) return false;
    const { origin, username, password } = url;
    const api = new URL(slackApiOf(this.settings));
    const allowed = [api.origin, `${api.protocol}//hooks.${api.host}`];
    return allowed.includes(origin) && username === '' && password === '';
  }
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
