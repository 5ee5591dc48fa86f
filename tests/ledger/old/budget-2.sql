
CREATE SCHEMA hourglass;

ALTER SCHEMA hourglass OWNER TO older_steward;

CREATE TABLE hourglass.entries (
    budget text NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    hash text NOT NULL,
    answer text
);

ALTER TABLE hourglass.entries OWNER TO older_steward;

CREATE FUNCTION hourglass.append(_head hourglass.entries, _kind text, _fields text, _spent text[], _answer text) RETURNS hourglass.entries
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Write the entry that comes after the head. Only the owner may call this, and the functions
-- that run as the owner.
DECLARE
    _new hourglass.entries;
BEGIN
    _new.budget := _head.budget;
    _new.number := _head.number + 1;
    _new.body := '{"budget":' || to_json(_head.budget)::text
        || ',"number":' || _new.number::text
        || ',"previous":"' || _head.hash
        || '","kind":"' || _kind
        || '","at":"' || to_char(clock_timestamp() AT TIME ZONE 'UTC',
                                 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')
        || '",' || _fields
        || ',"spent":{"epsilon":"' || _spent[1] || '","delta":"' || _spent[2]
        || '"},"by":' || to_json(session_user::text)::text || '}';
    IF _new.body IS NULL THEN
        RAISE EXCEPTION 'the entries of this budget are damaged' USING ERRCODE = 'HG003';
    END IF;
    _new.hash := hourglass.hash(_new.body);
    INSERT INTO hourglass.entries VALUES
        (_new.budget, _new.number, _new.body, _new.hash, _answer);
    RETURN _new;
END
$$;

ALTER FUNCTION hourglass.append(_head hourglass.entries, _kind text, _fields text, _spent text[], _answer text) OWNER TO older_steward;

CREATE FUNCTION hourglass.closed(_budget text, _charge bigint, _kind text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Whether an entry of this kind speaks of the charge.
BEGIN
    RETURN EXISTS (
        SELECT FROM hourglass.entries e
        WHERE hourglass.field(e.body, 'charge') = _charge::text AND e.budget = _budget
            AND hourglass.field(e.body, 'kind') = _kind);
END
$$;

ALTER FUNCTION hourglass.closed(_budget text, _charge bigint, _kind text) OWNER TO older_steward;

CREATE FUNCTION hourglass.crowds(_sum text, _amount text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Whether an amount makes the denominator of the sum too long. A decimal never does: other
-- fractions must leave it room (values.py, DECIMAL_BITS).
BEGIN
    RETURN length(split_part(_sum, '/', 2)) > 2287
        AND mod(rpad('1', 201, '0')::numeric, split_part(_amount, '/', 2)::numeric) <> 0;
END
$$;

ALTER FUNCTION hourglass.crowds(_sum text, _amount text) OWNER TO older_steward;

CREATE FUNCTION hourglass.exceeds(_a text, _b text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Whether the ratio a is more than the ratio b.
BEGIN
    RETURN split_part(_a, '/', 1)::numeric * split_part(_b, '/', 2)::numeric
         > split_part(_b, '/', 1)::numeric * split_part(_a, '/', 2)::numeric;
END
$$;

ALTER FUNCTION hourglass.exceeds(_a text, _b text) OWNER TO older_steward;

CREATE FUNCTION hourglass.field(_body text, _name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- A field of an entry; NULL if the line is not JSON.
BEGIN
    RETURN _body::jsonb ->> _name;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

ALTER FUNCTION hourglass.field(_body text, _name text) OWNER TO older_steward;

CREATE FUNCTION hourglass.hash(_body text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- The hash of a line, as entries.py computes it.
BEGIN
    RETURN encode(
        sha256(convert_to('hourglass-ledger-1' || chr(10) || _body, 'UTF8')), 'hex');
END
$$;

ALTER FUNCTION hourglass.hash(_body text) OWNER TO older_steward;

CREATE FUNCTION hourglass.head(_budget text) RETURNS hourglass.entries
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- The last entry of a budget, which this transaction now holds.
DECLARE
    _head hourglass.entries;
BEGIN
    IF hourglass.hold(_budget) IS NOT TRUE THEN
        RAISE EXCEPTION 'there is no such budget' USING ERRCODE = 'HG002';
    END IF;
    SELECT e.* INTO _head FROM hourglass.entries e
        WHERE e.budget = _budget ORDER BY e.number DESC LIMIT 1;
    IF hourglass.hash(_head.body) <> _head.hash
        OR hourglass.field(_head.body, 'budget') IS DISTINCT FROM _head.budget
        OR hourglass.field(_head.body, 'number') IS DISTINCT FROM _head.number::text
    THEN
        RAISE EXCEPTION 'the last entry of this budget is damaged' USING ERRCODE = 'HG003';
    END IF;
    RETURN _head;
END
$$;

ALTER FUNCTION hourglass.head(_budget text) OWNER TO older_steward;

CREATE FUNCTION hourglass.hold(_budget text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Lock a budget by its first entry. Under READ COMMITTED every later statement sees what the
-- holders before have committed.
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a charge needs the isolation level READ COMMITTED'
            USING ERRCODE = 'HG001';
    END IF;
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = 0 FOR NO KEY UPDATE;
    RETURN FOUND;
END
$$;

ALTER FUNCTION hourglass.hold(_budget text) OWNER TO older_steward;

CREATE FUNCTION hourglass.plain(_text text, _least integer) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- Whether a text is short, trimmed and free of control characters.
BEGIN
    RETURN _text IS NOT NULL AND char_length(_text) BETWEEN _least AND 200
        AND _text = btrim(_text)
        AND _text !~ ('[' || chr(1) || '-' || chr(31) || chr(127) || '-' || chr(159) || ']');
END
$$;

ALTER FUNCTION hourglass.plain(_text text, _least integer) OWNER TO older_steward;

CREATE FUNCTION hourglass.plus(_a text, _b text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- The sum of two ratios in lowest terms, in lowest terms (Knuth 4.5.1): both divisors are at
-- most the shorter denominator, so that a long sum stays quick to add to.
DECLARE
    _p numeric := split_part(_a, '/', 1)::numeric;
    _q numeric := split_part(_a, '/', 2)::numeric;
    _r numeric := split_part(_b, '/', 1)::numeric;
    _s numeric := split_part(_b, '/', 2)::numeric;
    _shared numeric := gcd(_q, _s);
    _top numeric := _p * div(_s, _shared) + _r * div(_q, _shared);
    _common numeric := gcd(_top, _shared);
BEGIN
    RETURN div(_top, _common)::text || '/' || (div(_q, _shared) * div(_s, _common))::text;
END
$$;

ALTER FUNCTION hourglass.plus(_a text, _b text) OWNER TO older_steward;

CREATE FUNCTION hourglass.reduced(_a text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- A ratio p/q in lowest terms.
DECLARE
    _p numeric := split_part(_a, '/', 1)::numeric;
    _q numeric := split_part(_a, '/', 2)::numeric;
BEGIN
    RETURN div(_p, gcd(_p, _q))::text || '/' || div(_q, gcd(_p, _q))::text;
END
$$;

ALTER FUNCTION hourglass.reduced(_a text) OWNER TO older_steward;

CREATE FUNCTION hourglass.refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'entries are never changed or deleted'; END $$;

ALTER FUNCTION hourglass.refuse() OWNER TO older_steward;

CREATE FUNCTION hourglass.reserve(_budget text, _request text, _question text, _description text, _epsilon text, _delta text) RETURNS hourglass.entries
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
DECLARE
    _head hourglass.entries;
    _standing hourglass.entries;
    _terms text;
    _spent text[];
BEGIN
    IF NOT hourglass.plain(_request, 1) OR NOT hourglass.plain(_description, 0)
        OR _question IS NULL OR _question !~ '^[0-9a-f]{64}$'
        OR _epsilon IS NULL OR _epsilon !~ '^[1-9][0-9]{0,59}/[1-9][0-9]{0,59}$'
        OR _delta IS NULL OR _delta !~ '^(0|[1-9][0-9]{0,59})/[1-9][0-9]{0,59}$'
    THEN
        RAISE EXCEPTION 'an argument of reserve is out of range' USING ERRCODE = 'HG004';
    END IF;
    _epsilon := hourglass.reduced(_epsilon);
    _delta := hourglass.reduced(_delta);
    _head := hourglass.head(_budget);
    SELECT e.* INTO _standing FROM hourglass.entries e
        WHERE hourglass.field(e.body, 'request') = _request AND e.budget = _budget
            AND hourglass.field(e.body, 'kind') = 'reserve'
            AND NOT hourglass.closed(e.budget, e.number, 'void');
    IF FOUND THEN
        IF hourglass.field(_standing.body, 'question') <> _question
            OR hourglass.field(_standing.body, 'epsilon') <> _epsilon
            OR hourglass.field(_standing.body, 'delta') <> _delta
        THEN
            RAISE EXCEPTION 'the request key belongs to another question'
                USING ERRCODE = 'HG005';
        END IF;
        RETURN _standing;
    END IF;
    SELECT e.body INTO STRICT _terms FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = 0;
    _spent := hourglass.spent(_head);
    _spent := ARRAY[hourglass.plus(_spent[1], _epsilon), hourglass.plus(_spent[2], _delta)];
    IF hourglass.exceeds(_spent[1], hourglass.field(_terms, 'epsilon')) IS NOT FALSE
        OR hourglass.exceeds(_spent[2], hourglass.field(_terms, 'delta')) IS NOT FALSE
    THEN
        RAISE EXCEPTION 'the charge is more than remains' USING ERRCODE = 'HG006';
    END IF;
    IF hourglass.crowds(_spent[1], _epsilon) OR hourglass.crowds(_spent[2], _delta) THEN
        RAISE EXCEPTION 'the exact sum has too many digits' USING ERRCODE = 'HG007';
    END IF;
    RETURN hourglass.append(
        _head, 'reserve',
        '"epsilon":"' || _epsilon || '","delta":"' || _delta
            || '","request":' || to_json(_request)::text
            || ',"question":"' || _question
            || '","description":' || to_json(_description)::text,
        _spent, NULL);
END
$_$;

ALTER FUNCTION hourglass.reserve(_budget text, _request text, _question text, _description text, _epsilon text, _delta text) OWNER TO older_steward;

CREATE FUNCTION hourglass.settle(_budget text, _charge bigint, _answer text) RETURNS hourglass.entries
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    _head hourglass.entries := hourglass.head(_budget);
    _body text;
    _by text;
BEGIN
    SELECT e.body INTO _body FROM hourglass.entries e
        WHERE e.budget = _budget AND e.number = _charge
            AND hourglass.field(e.body, 'kind') = 'reserve';
    IF NOT FOUND OR hourglass.closed(_budget, _charge, 'settle')
        OR hourglass.closed(_budget, _charge, 'void')
    THEN
        RAISE EXCEPTION 'the charge is not open' USING ERRCODE = 'HG008';
    END IF;
    _by := hourglass.field(_body, 'by');
    IF _by <> session_user::text
        OR _by IS NULL AND NOT pg_has_role(session_user, current_user, 'USAGE')
    THEN
        RAISE EXCEPTION 'the charge was made by another role' USING ERRCODE = 'HG009';
    END IF;
    IF _answer IS NULL OR json_typeof(_answer::json) <> 'object' THEN
        RAISE EXCEPTION 'the answer is not a JSON object' USING ERRCODE = 'HG004';
    END IF;
    RETURN hourglass.append(
        _head, 'settle',
        '"charge":' || _charge::text || ',"answer":"'
            || encode(sha256(convert_to(_answer, 'UTF8')), 'hex') || '"',
        hourglass.spent(_head), _answer);
END
$$;

ALTER FUNCTION hourglass.settle(_budget text, _charge bigint, _answer text) OWNER TO older_steward;

CREATE FUNCTION hourglass.spent(_head hourglass.entries) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
-- The sums of epsilon and delta up to the last entry: as it says, or, if it was written under
-- schema 1, added up.
DECLARE
    _sums text[] := ARRAY['0/1', '0/1'];
    _said text := hourglass.field(_head.body, 'spent');
    _one hourglass.entries;
BEGIN
    IF _said IS NOT NULL THEN
        RETURN ARRAY[hourglass.field(_said, 'epsilon'), hourglass.field(_said, 'delta')];
    END IF;
    FOR _one IN
        SELECT e.* FROM hourglass.entries e
        WHERE e.budget = _head.budget AND hourglass.field(e.body, 'kind') = 'reserve'
            AND NOT hourglass.closed(e.budget, e.number, 'void')
    LOOP
        _sums := ARRAY[hourglass.plus(_sums[1], hourglass.field(_one.body, 'epsilon')),
                       hourglass.plus(_sums[2], hourglass.field(_one.body, 'delta'))];
    END LOOP;
    RETURN _sums;
END
$$;

ALTER FUNCTION hourglass.spent(_head hourglass.entries) OWNER TO older_steward;

CREATE TABLE hourglass.ledger (
    version integer NOT NULL
);

ALTER TABLE hourglass.ledger OWNER TO older_steward;

-- Data for Name: entries; Type: TABLE DATA; Schema: hourglass; Owner: older_steward

INSERT INTO hourglass.entries VALUES ('visits', 0, '{"budget":"visits","number":0,"previous":"0000000000000000000000000000000000000000000000000000000000000000","kind":"init","at":"2026-11-18T15:36:17.121+00:00","epsilon":"1/1","delta":"1/100000000","description":"all visits of 2026","nonce":"e79b02aa18dc47af9d591c70ac904780"}', 'a2f10136a8f0bb90afbee8af413f44113d9aa37e9ebc3ee2552fa1f921029aa0', NULL);
INSERT INTO hourglass.entries VALUES ('full', 0, '{"budget":"full","number":0,"previous":"0000000000000000000000000000000000000000000000000000000000000000","kind":"init","at":"2026-11-18T15:36:17.146+00:00","epsilon":"1/3","delta":"0/1","description":"","nonce":"a19666bd241f49a284b93edd67141b11"}', 'fcf044143114d93353a8ff4f3c99e3d6652af10423387f00d39cac3336ac6e69', NULL);
INSERT INTO hourglass.entries VALUES ('visits', 1, '{"budget":"visits","number":1,"previous":"a2f10136a8f0bb90afbee8af413f44113d9aa37e9ebc3ee2552fa1f921029aa0","kind":"reserve","at":"2026-11-18T15:36:17.189+00:00","epsilon":"1/10","delta":"0/1","request":"march","question":"42f49f7894fc5fb63419adcdf0ecc75503abb423d8e7744ea3a4eb06fe6c72ce","description":"","spent":{"epsilon":"1/10","delta":"0/1"},"by":"older_analysts"}', '10d0d52660e144e51236fccb97aae05c90037e1803178c870af8eb2587284e6a', NULL);
INSERT INTO hourglass.entries VALUES ('visits', 2, '{"budget":"visits","number":2,"previous":"10d0d52660e144e51236fccb97aae05c90037e1803178c870af8eb2587284e6a","kind":"settle","at":"2026-11-18T15:36:17.200+00:00","charge":1,"answer":"ae95e4e9f88076c35fb1215376d1dc9e2fa7f405dfef23fa8473a81a7c870e34","spent":{"epsilon":"1/10","delta":"0/1"},"by":"older_analysts"}', 'f05037b4d74e5e40eed870d08275944ccb29cb345a9f9cba57d4d140a2982b87', '{"mean":41.5}');
INSERT INTO hourglass.entries VALUES ('visits', 3, '{"budget":"visits","number":3,"previous":"f05037b4d74e5e40eed870d08275944ccb29cb345a9f9cba57d4d140a2982b87","kind":"reserve","at":"2026-11-18T15:36:17.213+00:00","epsilon":"1/7","delta":"1/1000000000","request":"secret","question":"ed3312e383b9e07fdebfdda9ed09965e5c8617f2ba4952cf0f42a6ab6e214fd0","description":"","spent":{"epsilon":"17/70","delta":"1/1000000000"},"by":"older_analysts"}', '261f4e4e014393264b48a94e4413aed198d094fb3cde4c9d90c10e890fdd046b', NULL);
INSERT INTO hourglass.entries VALUES ('visits', 4, '{"budget":"visits","number":4,"previous":"261f4e4e014393264b48a94e4413aed198d094fb3cde4c9d90c10e890fdd046b","kind":"settle","at":"2026-11-18T15:36:17.225+00:00","charge":3,"answer":"7474728e89fb4c38e845a373f52694607e107bf21194b3153c14ebf924614181","spent":{"epsilon":"17/70","delta":"1/1000000000"},"by":"older_analysts"}', '2a1c976e698b98b5c63b1681c1f327f8f3f45a0036d17c67a312a4902f77dda3', '{"mean":0.30000000000000004}');
INSERT INTO hourglass.entries VALUES ('visits', 5, '{"budget":"visits","number":5,"previous":"2a1c976e698b98b5c63b1681c1f327f8f3f45a0036d17c67a312a4902f77dda3","kind":"reserve","at":"2026-11-18T15:36:17.238+00:00","epsilon":"1/100","delta":"0/1","request":"crashed","question":"5815ee399d5a4fd679ee037413d17251bd30bc2bd2160c0f78a176a4d70d2782","description":"","spent":{"epsilon":"177/700","delta":"1/1000000000"},"by":"older_analysts"}', 'b9e41d01d5db9babe9e2280ce6d3b704bccfb32271772d3b030b5c0df779eb28', NULL);
INSERT INTO hourglass.entries VALUES ('full', 1, '{"budget":"full","number":1,"previous":"fcf044143114d93353a8ff4f3c99e3d6652af10423387f00d39cac3336ac6e69","kind":"reserve","at":"2026-11-18T15:36:17.259+00:00","epsilon":"1/3","delta":"0/1","request":"all","question":"8e35c2cd3bf6641bdb0e2050b76932cbb2e6034a0ddacc1d9bea82a6ba57f7cf","description":"","spent":{"epsilon":"1/3","delta":"0/1"},"by":"older_steward"}', '386f11ad28e042d6a640e2dd65164a16d7d67396b42e9a2fa41af5bd3db47bfa', NULL);
INSERT INTO hourglass.entries VALUES ('full', 2, '{"budget":"full","number":2,"previous":"386f11ad28e042d6a640e2dd65164a16d7d67396b42e9a2fa41af5bd3db47bfa","kind":"settle","at":"2026-11-18T15:36:17.271+00:00","charge":1,"answer":"3c5c87e33a55534866b6332d90976ac566b774df52356d3a8ba1316e749a22f9","spent":{"epsilon":"1/3","delta":"0/1"},"by":"older_steward"}', '35893eeb1da14e2e26a295bf514244c68f19e13bf694126e62788a78a6e230cc', '{"mean":1}');

-- Data for Name: ledger; Type: TABLE DATA; Schema: hourglass; Owner: older_steward

INSERT INTO hourglass.ledger VALUES (2);

ALTER TABLE ONLY hourglass.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (budget, number);

CREATE INDEX entries_charge ON hourglass.entries USING hash (hourglass.field(body, 'charge'::text));

CREATE INDEX entries_request ON hourglass.entries USING hash (hourglass.field(body, 'request'::text));

CREATE TRIGGER entries_stay BEFORE DELETE OR UPDATE ON hourglass.entries FOR EACH ROW EXECUTE FUNCTION hourglass.refuse();

CREATE TRIGGER entries_whole BEFORE TRUNCATE ON hourglass.entries FOR EACH STATEMENT EXECUTE FUNCTION hourglass.refuse();

GRANT USAGE ON SCHEMA hourglass TO older_analysts;
GRANT USAGE ON SCHEMA hourglass TO older_readers;

GRANT SELECT ON TABLE hourglass.entries TO older_analysts;
GRANT SELECT ON TABLE hourglass.entries TO older_readers;

REVOKE ALL ON FUNCTION hourglass.append(_head hourglass.entries, _kind text, _fields text, _spent text[], _answer text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.closed(_budget text, _charge bigint, _kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.crowds(_sum text, _amount text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.exceeds(_a text, _b text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.field(_body text, _name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.hash(_body text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.head(_budget text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.hold(_budget text) FROM PUBLIC;
GRANT ALL ON FUNCTION hourglass.hold(_budget text) TO older_analysts;

REVOKE ALL ON FUNCTION hourglass.plain(_text text, _least integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.plus(_a text, _b text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.reduced(_a text) FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.refuse() FROM PUBLIC;

REVOKE ALL ON FUNCTION hourglass.reserve(_budget text, _request text, _question text, _description text, _epsilon text, _delta text) FROM PUBLIC;
GRANT ALL ON FUNCTION hourglass.reserve(_budget text, _request text, _question text, _description text, _epsilon text, _delta text) TO older_analysts;

REVOKE ALL ON FUNCTION hourglass.settle(_budget text, _charge bigint, _answer text) FROM PUBLIC;
GRANT ALL ON FUNCTION hourglass.settle(_budget text, _charge bigint, _answer text) TO older_analysts;

REVOKE ALL ON FUNCTION hourglass.spent(_head hourglass.entries) FROM PUBLIC;

GRANT SELECT ON TABLE hourglass.ledger TO older_analysts;
GRANT SELECT ON TABLE hourglass.ledger TO older_readers;

