import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * A response with headers that the edge adds. They are sent as they are, and become headers of the response when its handler sets or
 * reads one: twenty calls of `setHeader` take a twentieth of the time of creating a run.
 */
interface EdgeResponse extends ServerResponse {
  /** Names and values in turns. It is absent after they were sent or became headers of the response, and on responses of other classes. */
  edgeHeaders?: string[];
}

/** A new class, because each application changes the prototype of its class. */
export function responseClass(): typeof ServerResponse {
  return class<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    edgeHeaders?: string[] = [];

    override writeHead(statusCode: number, message?: string | Headers, headers?: Headers): this {
      if (message === undefined && headers === undefined && this.edgeHeaders !== undefined && !hasOwnHeaders(this))
        return super.writeHead(statusCode, this.edgeHeaders);
      setEdgeHeaders(this);
      return super.writeHead(statusCode, message as string, headers);
    }

    override getHeader(name: string): number | string | string[] | undefined {
      setEdgeHeaders(this);
      return super.getHeader(name);
    }

    override getHeaders(): OutgoingHttpHeaders {
      setEdgeHeaders(this);
      return super.getHeaders();
    }

    override getHeaderNames(): string[] {
      setEdgeHeaders(this);
      return super.getHeaderNames();
    }

    override hasHeader(name: string): boolean {
      setEdgeHeaders(this);
      return super.hasHeader(name);
    }

    override removeHeader(name: string): void {
      setEdgeHeaders(this);
      super.removeHeader(name);
    }

    override appendHeader(name: string, value: string | readonly string[]): this {
      setEdgeHeaders(this);
      return super.appendHeader(name, value);
    }
  };
}

/** Whether the response has other headers than those of the edge. */
export const hasOwnHeaders = (response: ServerResponse): boolean =>
  ServerResponse.prototype.getHeaderNames.call(response).length > 0;

/** Adds headers that were not added before: names and values in turns. Those that the handler sets win. */
export function addHeaders(response: EdgeResponse, headers: readonly string[]): void {
  if (response.headersSent) throw new Error('The headers of the response are sent already.');
  if (response.edgeHeaders === undefined) setHeaders(response, headers);
  else response.edgeHeaders.push(...headers);
}

/** Makes them headers of the response. */
export function setEdgeHeaders(response: EdgeResponse): void {
  const { edgeHeaders } = response;
  if (edgeHeaders === undefined) return;
  delete response.edgeHeaders;
  if (!response.headersSent) setHeaders(response, edgeHeaders);
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (!response.hasHeader(name)) response.setHeader(name, value);
  }
}
