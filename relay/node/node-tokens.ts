/** The tokens that this node takes: those of its ServiceAccounts, and those of people by the issuers of the configuration, and those of nodes above for metrics. */
import type { TokenUsers } from '../../core/apiserver/http/request-users.ts';
import type { TokenIssuer } from '../../core/apiserver/http/token-requests.ts';
import type { UserInfo } from '../../core/apiserver/space.ts';
import { type MetricsTokens, metricsAudience } from '../../core/authentication/metrics-tokens.ts';
import type { GivenTokenSpec } from '../../core/authentication/token-request.ts';

export class NodeTokens implements TokenIssuer {
  readonly #accounts: TokenIssuer;
  readonly #people: Pick<TokenUsers, 'userOf'> | undefined;
  readonly #above: Pick<MetricsTokens, 'userOf'>;

  constructor(
    accounts: TokenIssuer,
    people: Pick<TokenUsers, 'userOf'> | undefined,
    above: Pick<MetricsTokens, 'userOf'>,
  ) {
    this.#accounts = accounts;
    this.#people = people;
    this.#above = above;
  }

  async userOf(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    const account = await this.#accounts.userOf(token, audiences);
    // The audiences of people are those of the configuration. Another program that asks for other audiences learns nothing about them.
    if (account || audiences) return account;
    return this.#people?.userOf(token);
  }

  audiencesOf(token: string): Promise<readonly string[]> {
    return this.#accounts.audiencesOf(token);
  }

  async metricsUserOf(token: string): Promise<UserInfo | undefined> {
    return (await this.#accounts.userOf(token, [metricsAudience])) ?? this.#above.userOf(token);
  }

  issue(namespace: string, name: string, spec: GivenTokenSpec): Promise<object> {
    return this.#accounts.issue(namespace, name, spec);
  }
}
