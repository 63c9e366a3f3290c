import { createHmac, randomUUID } from 'node:crypto';

interface Alert {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const signatureOf = (body: string, secret: string): string => createHmac('sha256', secret).update(body).digest('hex');

/**
 * An issue alert of Sentry, after the example of
 * https://docs.sentry.io/organization/integrations/integration-platform/webhooks/issue-alerts/ without its fields about the browser.
 */
export function sentryAlert(secret: string, { issueId = '1117540176', level = 'error' } = {}): Alert {
  const eventId = randomUUID().replaceAll('-', '');
  const page = `https://sentry.io/organizations/test-org/issues/${issueId}/events/${eventId}/`;
  const body = JSON.stringify({
    action: 'triggered',
    actor: { id: 'sentry', name: 'Sentry', type: 'application' },
    data: {
      event: {
        culprit: '?(<anonymous>)',
        datetime: '2019-08-19T21:06:17.677000Z',
        event_id: eventId,
        exception: {
          values: [
            {
              mechanism: { handled: false, type: 'onerror' },
              stacktrace: {
                frames: [{ abs_path: '<anonymous>', colno: 5, filename: '<anonymous>', in_app: false, lineno: 3 }],
              },
              type: 'ReferenceError',
              value: 'heck is not defined',
            },
          ],
        },
        issue_id: issueId,
        issue_url: `https://sentry.io/api/0/issues/${issueId}/`,
        level,
        metadata: { filename: '<anonymous>', type: 'ReferenceError', value: 'heck is not defined' },
        platform: 'javascript',
        project: 1,
        release: null,
        title: 'ReferenceError: heck is not defined',
        type: 'error',
        url: `https://sentry.io/api/0/projects/test-org/front-end/events/${eventId}/`,
        web_url: page,
      },
      triggered_rule: 'Very Important Alert Rule!',
    },
    installation: { uuid: 'a8e5d37a-696c-4c54-adb5-b3f28d64c7de' },
  });
  return {
    headers: {
      'content-type': 'application/json',
      'request-id': randomUUID(),
      'sentry-hook-resource': 'event_alert',
      'sentry-hook-timestamp': String(Math.floor(Date.now() / 1000)),
      'sentry-hook-signature': signatureOf(body, secret),
    },
    body,
  };
}

/** An event of PagerDuty about an incident, after the examples of https://developer.pagerduty.com/docs/webhooks-overview */
export function pagerdutyEvent(secret: string, eventType: string): Alert {
  const reference = (id: string, type: string, summary: string) => ({
    html_url: `https://acme.pagerduty.com/${type}s/${id}`,
    id,
    self: `https://api.pagerduty.com/${type}s/${id}`,
    summary,
    type: `${type}_reference`,
  });
  const body = JSON.stringify({
    event: {
      id: randomUUID(),
      event_type: eventType,
      resource_type: 'incident',
      occurred_at: '2020-10-02T18:45:22.169Z',
      agent: reference('PLH1HKV', 'user', 'Tenex Engineer'),
      client: { name: 'PagerDuty' },
      data: {
        id: 'PGR0VU2',
        type: 'incident',
        self: 'https://api.pagerduty.com/incidents/PGR0VU2',
        html_url: 'https://acme.pagerduty.com/incidents/PGR0VU2',
        number: 2,
        status: 'triggered',
        incident_key: 'd3640fbd41094207a1c11e58e46b1662',
        created_at: '2020-04-09T15:16:27Z',
        title: 'A little bump in the road',
        service: reference('PF9KMXH', 'service', 'API Service'),
        assignees: [reference('PTUXL6G', 'user', 'User 123')],
        escalation_policy: reference('PUS0KTE', 'escalation_policy', 'Default'),
        teams: [reference('PFCVPS0', 'team', 'Engineering')],
        priority: reference('PSO75BM', 'priority', 'P1'),
        urgency: 'high',
        resolve_reason: null,
      },
    },
  });
  return {
    headers: { 'content-type': 'application/json', 'x-pagerduty-signature': `v1=${signatureOf(body, secret)}` },
    body,
  };
}
