/** Thrown when the service answers something else than the demo needs. */
export class DemoFailed extends Error {}

/** The few calls of the API that the demo makes, over Node's own fetch. */
export class Api {
  constructor({ base_url, token }) {
    this.baseUrl = base_url;
    this.token = token;
  }

  /** Sends a request and returns the parsed answer. Throws a DemoFailed that quotes the problem document. */
  async call(method, path, body) {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      redirect: 'manual',
      headers: { Authorization: `Bearer ${this.token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (response.status === 302) return response.headers.get('location');
    const text = await response.text();
    if (!response.ok) throw new DemoFailed(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  createRun = (body) => this.call('POST', '/agent/runs', body);
  run = (id) => this.call('GET', `/agent/runs/${id}`);
  runs = (query) => this.call('GET', `/agent/runs?${query}`);
  timeline = async (id) => (await this.call('GET', `/agent/runs/${id}/timeline`)).events;
  conversation = (id) => this.call('GET', `/agent/runs/${id}/conversation`);
  followUp = (id, message) => this.call('POST', `/agent/runs/${id}/followups`, { message });

  fork = (id, body) => this.call('POST', `/agent/runs/${id}/fork`, body);
  changes = (id) => this.call('GET', `/agent/runs/${id}/changes`);

  /** The raw transcript, through the time-limited link that needs no token. */
  async transcript(id) {
    const link = await this.call('GET', `/agent/runs/${id}/transcript`);
    const response = await fetch(link);
    if (!response.ok) throw new DemoFailed(`The transcript's link answered ${response.status}.`);
    return response.text();
  }

  /** Cancels a run; between offer and start the service says "in a moment" (409), so it asks again. */
  async cancel(id) {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.call('POST', `/agent/runs/${id}/cancel`);
      } catch (error) {
        if (attempt === 20 || !error.message.includes('answered 409')) throw error;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }
}
