import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * A response with headers that the edge adds. They are neither copied nor looked up by name unless the handler sets headers, which
 * then replace those of the same name: twenty calls of `setHeader` take a twentieth of the time of creating a run.
 */
interface EdgeResponse extends ServerResponse {
  /** Names and values in turns. Absent: they are sent, or the response has another class. */
  edgeHeaders?: string[];
}

/** A new class, because each application changes the prototype of its class. */
export function responseClass(): typeof ServerResponse {
  return class<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    edgeHeaders?: string[] = [];

    override writeHead(statusCode: number, message?: string | Headers, headers?: Headers): this {
      if (message === undefined && this.edgeHeaders !== undefined && this.getHeaderNames().length === 0)
        return super.writeHead(statusCode, this.edgeHeaders);
      setEdgeHeaders(this);
      return super.writeHead(statusCode, message as string, headers);
    }
  };
}

/** Adds headers that were not added before: names and values in turns. Those that the handler sets win. */
export function addHeaders(response: EdgeResponse, headers: readonly string[]): void {
  if (response.edgeHeaders === undefined) setHeaders(response, headers);
  else response.edgeHeaders.push(...headers);
}

/** For Express, whose responses have another class. */
export function setEdgeHeaders(response: EdgeResponse): void {
  const { edgeHeaders = [] } = response;
  response.edgeHeaders = undefined;
  setHeaders(response, edgeHeaders);
}

function setHeaders(response: ServerResponse, headers: readonly string[]): void {
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (!response.hasHeader(name)) response.setHeader(name, value);
  }
}
