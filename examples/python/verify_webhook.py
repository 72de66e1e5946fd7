# Checks where an alert comes from, with the standard library alone. Run by itself, it checks a message that is known.
import base64
import hashlib
import hmac
import time

# The seconds by which a message may be older or newer than now: a recorded one cannot be sent again later.
TOLERANCE = 300


def is_from_tollgate(headers, body, secret, now=None):
    """`body` is the bytes as they came, before they are parsed."""
    id, sent = headers["webhook-id"], headers["webhook-timestamp"]
    if abs((time.time() if now is None else now) - int(sent)) > TOLERANCE:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(expected, given) for given in headers["webhook-signature"].split(" "))


known = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
print("as it was sent:", is_from_tollgate(known, b'{"test": 2432232314}', secret, 1614265330))
print("changed:", is_from_tollgate(known, b'{"test": 2432232315}', secret, 1614265330))
print("old:", is_from_tollgate(known, b'{"test": 2432232314}', secret))
