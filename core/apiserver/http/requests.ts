/** What a request is, apart from the connection it came on. */
import type { UserInfo } from '../space.ts';

export interface ApiRequest {
  readonly method: string;
  /** Behind the space's prefix. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly user: UserInfo;
  body(): Promise<Buffer>;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export function header(request: ApiRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

export function jsonResponse(
  status: number,
  value: object,
  headers: Record<string, string | string[]> = {},
): ApiResponse {
  return { status, body: Buffer.from(`${JSON.stringify(value)}\n`), headers };
}
